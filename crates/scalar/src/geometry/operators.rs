//! The operators of geometric types.

use crate::operators::{Operator, operators};

pub(crate) const OPERATORS: &[Operator] = operators! {
    "#" {
        797 NONE PATH -> INT4 = 1432;
        803 BOX BOX -> BOX = 980;
        1521 NONE POLYGON -> INT4 = 1445;
        1536 LSEG LSEG -> POINT = 362;
        1617 LINE LINE -> POINT = 1494;
    }
    "##" {
        1557 POINT LINE -> POINT = 961;
        1558 POINT LSEG -> POINT = 366;
        1559 POINT BOX -> POINT = 367;
        1567 LSEG BOX -> POINT = 368;
        1577 LINE LSEG -> POINT = 1488;
        1578 LSEG LSEG -> POINT = 1489;
    }
    "&&" {
        492 POLYGON POLYGON -> BOOL = 346;
        500 BOX BOX -> BOOL = 125;
        1513 CIRCLE CIRCLE -> BOOL = 1459;
    }
    "&<" {
        486 POLYGON POLYGON -> BOOL = 342;
        494 BOX BOX -> BOOL = 189;
        1507 CIRCLE CIRCLE -> BOOL = 1455;
    }
    "&<|" {
        2571 BOX BOX -> BOOL = 2563;
        2575 POLYGON POLYGON -> BOOL = 2567;
        2589 CIRCLE CIRCLE -> BOOL = 2587;
    }
    "&>" {
        487 POLYGON POLYGON -> BOOL = 343;
        495 BOX BOX -> BOOL = 190;
        1508 CIRCLE CIRCLE -> BOOL = 1456;
    }
    "*" {
        733 POINT POINT -> POINT = 1443;
        738 PATH POINT -> PATH = 1438;
        806 BOX POINT -> BOX = 1424;
        1518 CIRCLE POINT -> CIRCLE = 1148;
    }
    "+" {
        731 POINT POINT -> POINT = 1441;
        735 PATH PATH -> PATH = 1435;
        736 PATH POINT -> PATH = 1436;
        804 BOX POINT -> BOX = 1422;
        1516 CIRCLE POINT -> CIRCLE = 1146;
    }
    "-" {
        732 POINT POINT -> POINT = 1442;
        737 PATH POINT -> PATH = 1437;
        805 BOX POINT -> BOX = 1423;
        1517 CIRCLE POINT -> CIRCLE = 1147;
    }
    "/" {
        734 POINT POINT -> POINT = 1444;
        739 PATH POINT -> PATH = 1439;
        807 BOX POINT -> BOX = 1425;
        1519 CIRCLE POINT -> CIRCLE = 1149;
    }
    "<" {
        504 BOX BOX -> BOOL = 129;
        793 PATH PATH -> BOOL = 982;
        1502 CIRCLE CIRCLE -> BOOL = 1464;
        1587 LSEG LSEG -> BOOL = 1483;
    }
    "<->" {
        517 POINT POINT -> FLOAT8 = 991;
        606 BOX POINT -> FLOAT8 = 357;
        613 POINT LINE -> FLOAT8 = 725;
        614 POINT LSEG -> FLOAT8 = 363;
        615 POINT BOX -> FLOAT8 = 364;
        616 LSEG LINE -> FLOAT8 = 727;
        617 LSEG BOX -> FLOAT8 = 365;
        618 POINT PATH -> FLOAT8 = 371;
        706 BOX BOX -> FLOAT8 = 978;
        707 PATH PATH -> FLOAT8 = 370;
        708 LINE LINE -> FLOAT8 = 239;
        709 LSEG LSEG -> FLOAT8 = 361;
        712 POLYGON POLYGON -> FLOAT8 = 729;
        760 LINE POINT -> FLOAT8 = 702;
        761 LSEG POINT -> FLOAT8 = 380;
        762 LINE LSEG -> FLOAT8 = 704;
        763 BOX LSEG -> FLOAT8 = 381;
        784 PATH POINT -> FLOAT8 = 421;
        1383 POLYGON CIRCLE -> FLOAT8 = 785;
        1520 CIRCLE CIRCLE -> FLOAT8 = 1471;
        1522 POINT CIRCLE -> FLOAT8 = 1476;
        1523 CIRCLE POLYGON -> FLOAT8 = 728;
        3276 POINT POLYGON -> FLOAT8 = 3275;
        3289 POLYGON POINT -> FLOAT8 = 3292;
        3291 CIRCLE POINT -> FLOAT8 = 3290;
    }
    "<<" {
        485 POLYGON POLYGON -> BOOL = 341;
        493 BOX BOX -> BOOL = 188;
        507 POINT POINT -> BOOL = 132;
        1506 CIRCLE CIRCLE -> BOOL = 1454;
    }
    "<<|" {
        1515 CIRCLE CIRCLE -> BOOL = 1460;
        2570 BOX BOX -> BOOL = 2562;
        2574 POLYGON POLYGON -> BOOL = 2566;
        4162 POINT POINT -> BOOL = 134;
    }
    "<=" {
        505 BOX BOX -> BOOL = 130;
        795 PATH PATH -> BOOL = 985;
        1504 CIRCLE CIRCLE -> BOOL = 1466;
        1588 LSEG LSEG -> BOOL = 1484;
    }
    "<>" {
        713 POINT POINT -> BOOL = 988;
        1501 CIRCLE CIRCLE -> BOOL = 1463;
        1586 LSEG LSEG -> BOOL = 1482;
    }
    "<@" {
        489 POLYGON POLYGON -> BOOL = 345;
        497 BOX BOX -> BOOL = 192;
        511 POINT BOX -> BOOL = 136;
        512 POINT PATH -> BOOL = 137;
        756 POINT POLYGON -> BOOL = 1429;
        758 POINT CIRCLE -> BOOL = 1478;
        1510 CIRCLE CIRCLE -> BOOL = 1458;
        1546 POINT LINE -> BOOL = 959;
        1547 POINT LSEG -> BOOL = 369;
        1548 LSEG LINE -> BOOL = 960;
        1549 LSEG BOX -> BOOL = 372;
    }
    "<^" {
        509 POINT POINT -> BOOL = 134;
        801 BOX BOX -> BOOL = 116;
    }
    "=" {
        503 BOX BOX -> BOOL = 128;
        792 PATH PATH -> BOOL = 984;
        1500 CIRCLE CIRCLE -> BOOL = 1462;
        1535 LSEG LSEG -> BOOL = 999;
        1616 LINE LINE -> BOOL = 1492;
    }
    ">" {
        502 BOX BOX -> BOOL = 127;
        794 PATH PATH -> BOOL = 983;
        1503 CIRCLE CIRCLE -> BOOL = 1465;
        1589 LSEG LSEG -> BOOL = 1485;
    }
    ">=" {
        501 BOX BOX -> BOOL = 126;
        796 PATH PATH -> BOOL = 986;
        1505 CIRCLE CIRCLE -> BOOL = 1467;
        1590 LSEG LSEG -> BOOL = 1486;
    }
    ">>" {
        488 POLYGON POLYGON -> BOOL = 344;
        496 BOX BOX -> BOOL = 191;
        508 POINT POINT -> BOOL = 133;
        1509 CIRCLE CIRCLE -> BOOL = 1457;
    }
    ">^" {
        506 POINT POINT -> BOOL = 131;
        800 BOX BOX -> BOOL = 115;
    }
    "?#" {
        798 PATH PATH -> BOOL = 973;
        802 BOX BOX -> BOOL = 125;
        1525 LSEG LSEG -> BOOL = 994;
        1537 LSEG LINE -> BOOL = 277;
        1538 LSEG BOX -> BOOL = 373;
        1539 LINE BOX -> BOOL = 278;
        1611 LINE LINE -> BOOL = 1495;
    }
    "?-" {
        808 POINT POINT -> BOOL = 990;
        1528 NONE LSEG -> BOOL = 998;
        1614 NONE LINE -> BOOL = 1499;
    }
    "?-|" {
        1527 LSEG LSEG -> BOOL = 996;
        1613 LINE LINE -> BOOL = 1497;
    }
    "?|" {
        809 POINT POINT -> BOOL = 989;
        1529 NONE LSEG -> BOOL = 997;
        1615 NONE LINE -> BOOL = 1498;
    }
    "?||" {
        1526 LSEG LSEG -> BOOL = 995;
        1612 LINE LINE -> BOOL = 1496;
    }
    "@-@" {
        799 NONE PATH -> FLOAT8 = 987;
        1591 NONE LSEG -> FLOAT8 = 1487;
    }
    "@>" {
        433 BOX POINT -> BOOL = 193;
        490 POLYGON POLYGON -> BOOL = 340;
        498 BOX BOX -> BOOL = 187;
        755 PATH POINT -> BOOL = 1426;
        757 POLYGON POINT -> BOOL = 1428;
        759 CIRCLE POINT -> BOOL = 1477;
        1511 CIRCLE CIRCLE -> BOOL = 1453;
    }
    "@@" {
        513 NONE BOX -> POINT = 138;
        969 NONE LSEG -> POINT = 225;
        971 NONE POLYGON -> POINT = 227;
        1420 NONE CIRCLE -> POINT = 1472;
    }
    "|&>" {
        2572 BOX BOX -> BOOL = 2564;
        2576 POLYGON POLYGON -> BOOL = 2568;
        2590 CIRCLE CIRCLE -> BOOL = 2588;
    }
    "|>>" {
        1514 CIRCLE CIRCLE -> BOOL = 1461;
        2573 BOX BOX -> BOOL = 2565;
        2577 POLYGON POLYGON -> BOOL = 2569;
        4161 POINT POINT -> BOOL = 131;
    }
    "~=" {
        491 POLYGON POLYGON -> BOOL = 339;
        499 BOX BOX -> BOOL = 186;
        510 POINT POINT -> BOOL = 135;
        1512 CIRCLE CIRCLE -> BOOL = 1452;
    }
};
